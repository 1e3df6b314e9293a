import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { SqliteFileMark } from './sqlite-file-mark.js';

const { file } = workerData as { readonly file: string };
const database = new Database(file, { fileMustExist: true, timeout: 0 });
database.pragma('synchronous = FULL');
const mark = new SqliteFileMark(file);

parentPort?.on('message', (order: 'copy' | 'close') => {
  if (order === 'close') {
    database.close();
    mark.close();
    parentPort?.close();
    return;
  }
  // The log belongs to the former content: copied into another one it would destroy it.
  if (mark.isOverwritten()) {
    parentPort?.postMessage('overwritten');
    return;
  }
  try {
    // Copies what it can without waiting, and without blocking writers.
    database.pragma('wal_checkpoint(PASSIVE)');
  } catch {
    // What remains in the log is safe there and is copied later.
  }
  mark.set();
});
