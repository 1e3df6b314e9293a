import type { LogbookService } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { createCandidates } from './candidates.js';
import { createKeyValues, createStoredEvidence } from './evidence.js';
import { createGovernanceSettings } from './governance.js';
import { createAttachments } from './items/attachments.js';
import { createEvents } from './items/events.js';
import { createItems } from './items/items.js';
import { createPatchBlobs } from './items/patch-blobs.js';
import { createLedger } from './ledger/ledger.js';
import { createOutbox } from './outbox/outbox.js';
import { createReconcileQueries } from './reconcile/reconcile-queries.js';
import { createReliability } from './reliability/reliability.js';
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
    items: createItems(database),
    events: createEvents(database),
    attachments: createAttachments(database),
    patches: createPatchBlobs(database),
    outbox: createOutbox(database),
    reconcile: createReconcileQueries(database),
    reliability: createReliability(database),
  };
}
