import type { KnowledgeCandidate, KnowledgeCandidates } from 'mortise/contracts/logbook';
import { type Database, jsonTexts } from 'mortise/sdk';
import { questionCondition, questionScore } from './text-question.js';

interface CandidateColumns {
  readonly candidate_id: number;
  readonly kind: string | null;
  readonly title: string | null;
  readonly content_md: string | null;
  readonly confidence: string;
  readonly evidence_refs_json: string;
  readonly target_space: string | null;
  readonly created_at: string;
}

/** Newest possible matches scanned per search. */
const MOST_SCANNED = 2_000;

/** URIs anywhere in the evidence JSON, whose shape the writer chose. */
function urisIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(urisIn);
  if (typeof value !== 'object' || value === null) return [];
  return 'uri' in value && typeof value.uri === 'string' ? [value.uri] : Object.values(value).flatMap(nestedUris);
}

/** A bare string inside an object is a note, not a reference. */
function nestedUris(value: unknown): string[] {
  return typeof value === 'object' ? urisIn(value) : [];
}

function candidateOf({ codec }: Database, row: CandidateColumns, score: number): KnowledgeCandidate {
  return {
    candidateId: row.candidate_id,
    kind: row.kind,
    title: row.title,
    content: row.content_md ?? '',
    confidence: row.confidence,
    evidenceRefs: urisIn(codec.parseJson(row.evidence_refs_json)),
    targetSpace: row.target_space,
    createdAt: codec.parseTime(row.created_at) ?? '',
    score,
  };
}

/** Plain-text search over `analysis.knowledge_candidates`. */
export function createCandidates(database: Database): KnowledgeCandidates {
  return {
    async search({ question, spaces, kind, evidence, limit }, options) {
      const condition = questionCondition(database, question, ['title', 'content_md']);
      if (condition === undefined) return [];
      const isShared = spaces.some((space) => !space.startsWith('private:'));
      const { rows } = await database.statement<CandidateColumns>(
        `select candidate_id, kind, title, content_md, confidence, evidence_refs_json, target_space, created_at
         from {analysis.knowledge_candidates}
         where (target_space in ${jsonTexts(database.dialect)} ${isShared ? 'or target_space is null' : ''})
         ${kind === undefined ? '' : `and kind in ${jsonTexts(database.dialect)}`}
         and ${condition.sql}
         order by created_at desc, candidate_id desc limit ${MOST_SCANNED}`,
        [JSON.stringify(spaces), ...(kind === undefined ? [] : [database.codec.json(kind)]), ...condition.bindings],
        options,
      );
      return rows
        .map((row) => candidateOf(database, row, questionScore(question, [row.title ?? '', row.content_md ?? ''])))
        .filter(({ score, evidenceRefs }) => {
          return score > 0 && (evidence === undefined || evidenceRefs.some((uri) => uri.includes(evidence)));
        })
        .sort((a, b) => b.score - a.score) // Stable: newest first among equals.
        .slice(0, limit);
    },
  };
}
