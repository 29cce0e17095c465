// SPDX-License-Identifier: MIT
// Measures with tasks of tokio what bench/tasks/task_share.c measures with tasks of verge: two that send each other
// messages, and a tree of a million that are spawned and joined.
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;
use tokio::sync::mpsc::channel;

async fn pingpong(rounds: usize) -> f64 {
    let (to_there, mut there) = channel::<usize>(1);
    let (to_back, mut back) = channel::<usize>(1);
    tokio::spawn(async move {
        while let Some(item) = there.recv().await {
            if to_back.send(item).await.is_err() {
                break;
            }
        }
    });
    let begin = Instant::now();
    for i in 0..rounds {
        to_there.send(i).await.unwrap();
        assert_eq!(back.recv().await, Some(i));
    }
    begin.elapsed().as_nanos() as f64 / rounds as f64
}

fn grow(depth: usize, width: usize) -> Pin<Box<dyn Future<Output = usize> + Send>> {
    Box::pin(async move {
        let mut sum = 1;
        if depth > 0 {
            for _ in 0..width {
                sum += tokio::spawn(grow(depth - 1, width)).await.unwrap();
            }
        }
        sum
    })
}

async fn tree(width: usize) -> f64 {
    let begin = Instant::now();
    let branches: Vec<_> = (0..16).map(|_| tokio::spawn(grow(2, width))).collect();
    let mut sum = 0;
    for branch in branches {
        sum += branch.await.unwrap();
    }
    begin.elapsed().as_nanos() as f64 / sum as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    values[values.len() / 2]
}

fn main() {
    let quick = std::env::args().count() > 1;
    let (rounds, width) = if quick { (20000, 64) } else { (200000, 256) };
    let mut one = 0.0;
    for workers in [1, 2] {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build().unwrap();
        let run = |future: Pin<Box<dyn Future<Output = f64> + Send>>| {
            runtime.block_on(async { tokio::spawn(future).await.unwrap() })
        };
        let round = median((0..5).map(|_| run(Box::pin(pingpong(rounds)))).collect());
        let task = median((0..5).map(|_| run(Box::pin(tree(width)))).collect());
        println!("    {:<28} pingpong {:5.0} ns a round, tree {:5.0} ns a task", format!("tokio, {} workers", workers), round, task);
        if workers == 1 {
            one = task;
        } else {
            println!("    {:<28} tree on two to one: {:.2} times as fast", "", one / task);
        }
    }
}
