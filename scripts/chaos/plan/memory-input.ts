import type { RandomStream } from './random-stream.js';

/** A piece of evidence from a client. */
interface Proof {
  readonly uri: string;
  readonly sha256: string;
  readonly notes: string;
}

/** A memory that a client stores. Inputs with the same text are the same memory. */
export interface MemoryInput {
  readonly text: string;
  readonly space: string;
  readonly kind: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence: readonly Proof[];
  /** URIs that are not among the evidence. */
  readonly evidenceRefs: readonly string[];
  readonly actor: string | null;
  readonly itemId: number | null;
}

const kinds = ['FACT', 'PROCEDURE', 'PITFALL', 'DECISION'] as const;
const words = ['harbour', 'opens', 'at', 'five', 'deploy', 'rollback', 'gateway', '港口', '部署', 'Ωmega'] as const;
const SHARED_SHARE = 0.4;
const ACTOR_SHARE = 0.6;
const ITEM_SHARE = 0.3;

function spaceOf(random: RandomStream): string {
  if (!random.chance(SHARED_SHARE)) return `private:chaos-${random.between(1, 3)}`;
  return random.pick(['team:chaos', 'team:dock', 'org:chaos']);
}

/** Creates a new memory with a unique `name`. */
export function newMemory(random: RandomStream, name: string, meta: MemoryInput['meta']): MemoryInput {
  const length = random.between(1, 40);
  const sentence = Array.from({ length }, () => random.pick(words)).join(' ');
  const proofs = random.between(0, 2);
  return {
    text: `${name} ${sentence}`,
    space: spaceOf(random),
    kind: random.pick(kinds),
    meta,
    evidence: Array.from({ length: proofs }, (_, n) => ({
      uri: `https://example.org/${name}/${n}`,
      sha256: `${random.between(0, 9)}`.repeat(64),
      notes: `seen ${random.pick(words)}`,
    })),
    evidenceRefs: Array.from({ length: random.between(0, 1) }, () => `https://example.org/${name}/plain`),
    actor: random.chance(ACTOR_SHARE) ? `actor-${random.between(1, 40)}` : null,
    itemId: random.chance(ITEM_SHARE) ? random.between(1, 99) : null,
  };
}

/** Policy during the run: shared spaces accept memories with evidence that are not of kind FACT. */
export const policy = {
  team_write_enabled: true,
  policy_json: { require_evidence: true, allowed_kinds: kinds.slice(1) },
};

/** The final space of a memory, by the policy. */
export function landingOf({ space, kind, evidence, evidenceRefs, actor }: MemoryInput): string {
  if (space.startsWith('private:')) return space;
  const hasEvidence = evidence.length + evidenceRefs.length > 0;
  const isAllowed = hasEvidence && policy.policy_json.allowed_kinds.some((one) => one === kind);
  return isAllowed ? space : `private:${actor ?? 'unknown'}`;
}
