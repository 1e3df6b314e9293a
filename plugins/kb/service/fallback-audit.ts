import type { AuditService } from 'mortise/contracts/logbook';
import type { Logger, Principal } from 'mortise/sdk';

/** Records that answers are made without vectors: a row when it begins, one a minute with the count, one when it ends. */
interface FallbackAudit {
  failed(
    caller: { readonly principal: Principal | undefined; readonly correlationId: string | undefined },
    embedder: string,
  ): Promise<void>;
  succeeded(embedder: string): Promise<void>;
  /** Writes the count of what was not written yet. */
  flush(): Promise<void>;
}

const rowEveryMs = 60_000;

export function createFallbackAudit(audit: () => AuditService | undefined, log: Logger): FallbackAudit {
  let failing: { embedder: string; total: number; unwritten: number; writtenAt: number } | undefined;

  const write = async (
    phase: 'begin' | 'continue' | 'end',
    count: number,
    embedder: string,
    caller?: {
      readonly principal: Principal | undefined;
      readonly correlationId: string | undefined;
    },
  ): Promise<void> => {
    const service = audit();
    if (service === undefined) {
      log.warn(
        { embedder, phase, count },
        'Answers are made without vectors, and there is no audit trail to record it.',
      );
      return;
    }
    try {
      await service.write({
        action: phase === 'end' ? 'allow' : 'redirect',
        operation: 'kb:search',
        reason: phase === 'end' ? 'kb:embedder_available' : 'kb:embedder_unavailable',
        principal: caller?.principal?.id ?? null,
        correlationId: caller?.correlationId ?? null,
        evidence: { source: 'gateway', extra: { embedder, phase, count } },
      });
    } catch (error) {
      log.warn({ err: error, embedder }, 'The failure of the embedder could not be audited.');
    }
  };

  return {
    failed: async (caller, embedder) => {
      if (failing === undefined) {
        failing = { embedder, total: 1, unwritten: 0, writtenAt: Date.now() };
        await write('begin', 1, embedder, caller);
        return;
      }
      failing.total += 1;
      failing.unwritten += 1;
      if (Date.now() - failing.writtenAt < rowEveryMs) return;
      const count = failing.unwritten;
      failing.unwritten = 0;
      failing.writtenAt = Date.now();
      await write('continue', count, embedder, caller);
    },
    succeeded: async (embedder) => {
      if (failing === undefined) return;
      const { total } = failing;
      failing = undefined;
      await write('end', total, embedder);
    },
    flush: async () => {
      if (failing === undefined || failing.unwritten === 0) return;
      const { embedder, unwritten } = failing;
      failing.unwritten = 0;
      await write('continue', unwritten, embedder);
    },
  };
}
