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
    // Copies what it can without waiting, and no writer waits for it.
    database.pragma('wal_checkpoint(PASSIVE)');
  } catch {
    // What stays in the log is as safe there: it is copied another time.
  }
  mark.set();
});
