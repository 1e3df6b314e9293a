import type { Migration } from 'mortise/sdk';
import { index } from './0001-index.js';

/** The tables of the index, in the order they were added. */
export const migrations: readonly Migration[] = [index];
