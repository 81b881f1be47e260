// The reference for bench/writes.py: row + FTS5 + vec0 for every note, in one transaction, then one by one.
// Usage: node writes.mjs notes.jsonl vectors.f32 folder   (prints one JSON object)
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const require = createRequire(path.join(process.cwd(), "package.json"));
const Database = require("better-sqlite3");
const vec = require("sqlite-vec");
const [notesFile, vectorsFile, folder] = process.argv.slice(2);
const texts = fs.readFileSync(notesFile, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const raw = fs.readFileSync(vectorsFile);
const dims = raw.length / 4 / texts.length;
const vectors = texts.map((_, i) => raw.subarray(i * dims * 4, (i + 1) * dims * 4));

function open(name) {
  const db = new Database(path.join(folder, name));
  vec.load(db);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec(`create table notes (id integer primary key, content text not null, created integer not null);
    create virtual table notes_fts using fts5 (content, content = 'notes', content_rowid = 'id', tokenize = 'porter unicode61');
    create virtual table notes_vec using vec0 (id integer primary key, embedding float[${dims}])`);
  return {
    db,
    note: db.prepare("insert into notes (content, created) values (?, ?)"),
    fts: db.prepare("insert into notes_fts (rowid, content) values (?, ?)"),
    vec: db.prepare("insert into notes_vec (id, embedding) values (?, ?)"),
  };
}

function insert(store, i) {
  const id = store.note.run(texts[i], Date.now()).lastInsertRowid;
  store.fts.run(id, texts[i]);
  store.vec.run(BigInt(id), vectors[i]);
}

function measured(work) {
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  work();
  const used = process.cpuUsage(cpu);
  return { cpu: (used.user + used.system) / 1e6, wall: Number(process.hrtime.bigint() - start) / 1e9 };
}

const bulk = open("bulk.db");
const all = measured(() => bulk.db.transaction(() => texts.forEach((_, i) => insert(bulk, i)))());
const single = open("single.db");
const one = single.db.transaction((i) => insert(single, i));
const times = [];
for (let i = 0; i < 200; i++) {
  const start = process.hrtime.bigint();
  one(i);
  times.push(Number(process.hrtime.bigint() - start) / 1e6);
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({ bulk: all, single_ms: times[100] }));
