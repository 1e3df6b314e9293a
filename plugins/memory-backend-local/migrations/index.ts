import type { Migration } from 'mortise/sdk';
import { index } from './0001-index.js';
import { vectors } from './0002-vectors.js';
import { mergePairs } from './0003-merge-pairs.js';

export const migrations: readonly Migration[] = [index, vectors, mergePairs];
