import { readFile } from 'node:fs/promises';
import type { JournalLine } from './evidence.js';

/** What the backend wrote down, line by line. A file that is not there holds nothing. */
export async function readJournal(file: string): Promise<readonly JournalLine[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalLine);
}
