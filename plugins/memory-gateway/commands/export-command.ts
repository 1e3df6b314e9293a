import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { Command, CommandFacts } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { spaceProblem } from '../policy/decide.js';
import { textOption, wrongUsage } from './command-answer.js';

const PAGE = 500;

/** A ledger row as it is on the wire. */
function wireMemory(memory: LedgerMemory) {
  return {
    memory_key: memory.memoryKey,
    space: memory.space,
    payload_md: memory.payload,
    payload_sha: memory.payloadSha,
    kind: memory.kind,
    meta_json: memory.meta,
    evidence_json: memory.evidence,
    actor_user_id: memory.actorUserId,
    item_id: memory.itemId,
    backend: memory.backend,
    backend_memory_id: memory.backendMemoryId,
    state: memory.state,
    audit_id: memory.auditId,
    outbox_id: memory.outboxId,
    correlation_id: memory.correlationId,
    created_at: memory.createdAt,
    updated_at: memory.updatedAt,
  };
}

/** `mortise memory export --space S`: the rows of the ledger, a JSON line each, oldest first. */
export function exportCommand(facts: CommandFacts, { logbook }: GatewayParts): Command {
  return {
    ...facts,
    isRead: () => true,
    async run(input, { signal }) {
      const space = textOption(input, 'space');
      if (space === undefined || space === null || input.args.length > 0) return wrongUsage(facts.usage);
      const problem = spaceProblem(space);
      if (problem !== undefined) return wrongUsage(facts.usage, `--space: ${problem.explanation}.`);
      const rows: ReturnType<typeof wireMemory>[] = [];
      for (let after = 0; ; ) {
        signal.throwIfAborted();
        const page = await logbook.ledger.page({ after, limit: PAGE, space });
        rows.push(...page.map(wireMemory));
        after = page.at(-1)?.seq ?? after;
        if (page.length < PAGE) break;
      }
      return { exitCode: 0, data: rows, text: rows.map((row) => JSON.stringify(row)).join('\n') };
    },
  };
}
