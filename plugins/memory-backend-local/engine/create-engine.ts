import type { Database } from 'mortise/sdk';
import { postgresEngine } from './postgres-engine.js';
import type { SearchEngine } from './search-engine.js';
import { sqliteEngine } from './sqlite-engine.js';

export function createEngine(database: Database): SearchEngine {
  return database.dialect === 'sqlite' ? sqliteEngine(database) : postgresEngine(database);
}
