// SPDX-License-Identifier: MIT
// durable.js graphile-worker|pg-boss URL [--seconds N] [--fill N]: prints the rows of bench/durable/peers.c, measured
// with a job queue of Node. Both queues are set up for throughput: batches, and several fetches at a time. pg-boss
// polls as often as it allows, graphile-worker as often as leaves the server idle.
"use strict";

const [, , name, url, ...rest] = process.argv;
const option = (key, fallback) => (rest.includes(key) ? Number(rest[rest.indexOf(key) + 1]) : fallback);
const seconds = option("--seconds", 5);
const fill = option("--fill", 0);
const callers = 16, batch = 1000;
const day = 86400000;
const nap = (ms) => new Promise((done) => setTimeout(done, ms));

let fired = 0;
let late = []; // how late each job was, in ms
const note = (due) => { late.push(Math.max(0, Date.now() - due)); fired++; };

const queues = {
    "graphile-worker": async () => {
        const { run, makeWorkerUtils, Logger } = require("graphile-worker");
        const { Pool } = require("pg");
        const logger = new Logger(() => () => {});
        const pool = new Pool({ connectionString: url, max: 24 });
        pool.on("error", () => {});
        pool.on("connect", (client) => client.on("error", () => {}));
        const utils = await makeWorkerUtils({ pgPool: pool, logger });
        await utils.migrate();
        return {
            one: (due) => utils.addJob("bench", { due }, { runAt: new Date(due) }),
            many: (dues) => utils.addJobs(dues.map((due) => ({ identifier: "bench", payload: { due }, runAt: new Date(due) }))),
            work: async () => {
                const runner = await run({
                    pgPool: pool,
                    taskList: { bench: async (payload) => { note(payload.due); } },
                    preset: { worker: { concurrentJobs: 24, pollInterval: 100, localQueue: { size: 500 }, logger,
                        completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
                });
                return () => runner.stop();
            },
            end: async () => { await utils.release(); await pool.end(); },
        };
    },
    "pg-boss": async () => {
        const PgBoss = require("pg-boss");
        const boss = new PgBoss({ connectionString: url, max: 24 });
        boss.on("error", (error) => { console.error(error); process.exit(1); });
        await boss.start();
        await boss.createQueue("bench");
        return {
            one: (due) => boss.send("bench", { due }, { startAfter: new Date(due) }),
            many: (dues) => boss.insert(dues.map((due) => ({ name: "bench", data: { due }, startAfter: new Date(due),
                keepUntil: new Date(due + 30 * day) }))),
            work: async () => {
                for (let i = 0; i < 4; i++) {
                    await boss.work("bench", { batchSize: 500, pollingIntervalSeconds: 0.5 },
                        async (jobs) => { for (const job of jobs) note(job.data.due); });
                }
                return () => boss.offWork("bench");
            },
            end: () => boss.stop({ graceful: false }),
        };
    },
};

const print = (row, figure) => console.log(`${row}\t${figure}`);

async function scheduleMany(queue, count, first, apart) {
    for (let done = 0; done < count; done += batch) {
        await queue.many(Array.from({ length: batch }, (_, i) => (first === 0 ? Date.now() + day : Math.round(first + (done + i) * apart))));
    }
}

async function waitFor(count) {
    const began = Date.now();
    while (fired < count) {
        if (Date.now() - began > 300000) throw new Error(`${name}: ${fired} of ${count} jobs have run`);
        await nap(1);
    }
}

async function measureSchedule(queue) {
    let made = 0, isOver = false;
    let began = performance.now();
    const each = Array.from({ length: callers }, async () => {
        while (!isOver) { await queue.one(Date.now() + day); made++; }
    });
    await nap(seconds * 1000);
    isOver = true;
    await Promise.all(each);
    print("schedule", Math.round(made * 1000 / (performance.now() - began)));
    let many = 0;
    began = performance.now();
    while (performance.now() - began < seconds * 1000) { await scheduleMany(queue, batch, 0, 0); many += batch; }
    print("many", Math.round(many * 1000 / (performance.now() - began)));
}

async function measureNoOps(queue, count) {
    await scheduleMany(queue, count, Date.now() - 1000, 0);
    fired = 0;
    const began = performance.now();
    const stop = await queue.work();
    await waitFor(count);
    print("no-ops", Math.round(count * 1000 / (performance.now() - began)));
    await stop();
}

async function measureLateness(queue, rate) {
    const count = (Math.floor(seconds * rate / batch) + 1) * batch;
    const stop = await queue.work();
    await nap(3000);
    fired = 0;
    late = [];
    await scheduleMany(queue, count, Date.now() + 3000, 1000 / rate);
    await waitFor(count);
    late.sort((a, b) => a - b);
    print(`late ${rate}`, late[Math.floor(late.length / 2)].toFixed(1));
    print(`late ${rate}, 99 %`, late[Math.floor(late.length * 0.99)].toFixed(1));
    await stop();
}

async function measureAll(queue) {
    await measureSchedule(queue);
    await measureNoOps(queue, Math.floor(seconds * 2000 / batch) * batch);
    await measureLateness(queue, 500);
    await measureLateness(queue, 2000);
}

(async () => {
    const queue = await queues[name]();
    if (fill > 0) await scheduleMany(queue, fill, 0, 0);
    else await measureAll(queue);
    await queue.end();
    process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
