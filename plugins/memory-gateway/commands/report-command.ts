import type { Command, CommandFacts } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { reliabilityReport } from '../report.js';

/** `mortise memory report`: exit 1 when an invariant is violated. */
export function reportCommand(facts: CommandFacts, parts: GatewayParts): Command {
  return {
    ...facts,
    isRead: () => true,
    async run(_input, { correlationId }) {
      const report = await reliabilityReport(correlationId, parts);
      const { outbox_stats: outbox, audit_stats: audit, memory_stats: memory, backend } = report;
      const text = [
        `Memories: ${memory.total} ${JSON.stringify(memory.by_state)}`,
        `Outbox:   ${outbox.pending} pending, ${outbox.sent} sent, ${outbox.dead} dead`,
        `Audit:    ${audit.total} rows (${audit.allow} allow, ${audit.redirect} redirect, ${audit.reject} reject)`,
        `Backend:  ${backend.key}, circuit ${backend.circuit}${backend.last_error === null ? '' : `, ${backend.last_error}`}`,
        `Rules:    ${report.message ?? 'all invariants hold'}`,
      ];
      return { exitCode: report.message === null ? 0 : 1, data: report, text: text.join('\n') };
    },
  };
}
