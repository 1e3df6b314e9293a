import type { Migration } from 'mortise/sdk';
import { identity } from './0001-identity.js';
import { logbook } from './0002-logbook.js';
import { memories } from './0003-memories.js';
import { analysis } from './0004-analysis.js';
import { governance } from './0005-governance.js';
import { scm } from './0006-scm.js';
import { outboxId } from './0007-outbox-id.js';
import { auditHeads } from './0008-audit-heads.js';
import { auditHash } from './0009-audit-hash.js';
import { outboxPrincipal } from './0010-outbox-principal.js';

/** The tables of the logbook, in the order they were added. */
export const migrations: readonly Migration[] = [
  identity,
  logbook,
  memories,
  analysis,
  governance,
  scm,
  outboxId,
  auditHeads,
  auditHash,
  outboxPrincipal,
];
