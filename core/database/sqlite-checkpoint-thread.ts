import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

const { file } = workerData as { readonly file: string };
const database = new Database(file, { fileMustExist: true, timeout: 0 });
database.pragma('synchronous = FULL');

parentPort?.on('message', (order: 'copy' | 'close') => {
  if (order === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  try {
    // Copies what it can without waiting, and no writer waits for it.
    database.pragma('wal_checkpoint(PASSIVE)');
  } catch {
    // What stays in the log is as safe there: it is copied another time.
  }
});
