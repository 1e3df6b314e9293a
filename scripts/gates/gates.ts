import { chunkGates } from './chunk-gates.js';
import { databaseGates } from './database-gates.js';
import type { Gate } from './gate.js';
import { indexGates } from './index-gates.js';
import { searchGates } from './search-gates.js';
import { vectorGates } from './vector-gates.js';

/** All gates, in the order in which they run. */
export const gates: readonly Gate[] = [...databaseGates, ...chunkGates, ...indexGates, ...searchGates, ...vectorGates];
