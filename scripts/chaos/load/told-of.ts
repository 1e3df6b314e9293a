import type { Told } from '../checker/evidence.js';
import { landingOf } from '../plan/wish.js';
import type { Acknowledgement } from './acknowledgement.js';

/** An acknowledgement in the checker's words. */
export function toldOf({ wish, promised, finalSpace, correlationId }: Acknowledgement): Told {
  const { text, space, kind, meta, actor, itemId } = wish;
  const landing = landingOf(wish);
  const isPromise = promised.kind === 'stored' || promised.kind === 'queued' || promised.kind === 'dead';
  return {
    text,
    requestedSpace: space,
    landing,
    space: finalSpace ?? landing,
    kind,
    meta,
    evidence: [
      ...wish.evidence.map((proof) => ({ ...proof })),
      ...wish.evidenceRefs.map((uri) => ({ uri, sha256: '' })),
    ],
    actor,
    itemId: itemId === null ? null : String(itemId),
    correlationId,
    promised: isPromise ? promised.kind : 'nothing',
    memoryId: promised.kind === 'stored' ? promised.memoryId : null,
    outboxId: promised.kind === 'queued' || promised.kind === 'dead' ? promised.outboxId : null,
  };
}
