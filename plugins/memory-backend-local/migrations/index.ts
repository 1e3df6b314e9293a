import type { Migration } from 'mortise/sdk';
import { index } from './0001-index.js';
import { vectors } from './0002-vectors.js';

export const migrations: readonly Migration[] = [index, vectors];
