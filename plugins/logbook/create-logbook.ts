import type { Database, LogbookService } from 'mortise/sdk';
import { createCandidates } from './candidates.js';
import { createGovernanceSettings } from './governance-settings.js';
import { createKeyValues } from './key-values.js';
import { createLedger } from './ledger/create-ledger.js';
import { createReliability } from './reliability/create-reliability.js';
import { createStoredEvidence } from './stored-evidence.js';
import { createUsers } from './users.js';

/** The service `logbook` over its tables. */
export function createLogbook(database: Database): LogbookService {
  return {
    users: createUsers(database),
    settings: createGovernanceSettings(database),
    kv: createKeyValues(database),
    ledger: createLedger(database),
    candidates: createCandidates(database),
    evidence: createStoredEvidence(database),
    reliability: createReliability(database),
  };
}
