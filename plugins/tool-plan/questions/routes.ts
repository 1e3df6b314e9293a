import { boundUser, isJsonObject, type JsonObject, listPage, type Route } from 'mortise/sdk';
import { planError } from '../errors.js';
import type { Answers, InputRequests, SessionFilter } from './input-requests.js';

const maxAnswerLength = 16_384;

/** `POST /agent/tool-input-answer` */
export function answerRoute(requests: InputRequests): Route {
  return {
    async handle({ body }, { principal }) {
      if (!isJsonObject(body)) throw planError('invalid_json');
      const requestId = textOf(body, 'request_id')?.trim();
      if (!requestId) throw planError('invalid_request', 'request_id is required');
      const filter: SessionFilter = {
        sessionId: textOf(body, 'session_id'),
        userId: textOf(body, 'user_id'),
        channel: textOf(body, 'channel'),
      };
      await requests.answer(requestId, filter, boundUser(principal), readAnswers(body.answers));
      return { body: { accepted: true, request_id: requestId } };
    },
  };
}

/** `GET /agent/tool-input-requests` */
export function listRoute(requests: InputRequests): Route {
  return {
    async handle({ query }, ctx) {
      const { principal } = ctx;
      const bound = boundUser(principal);
      const asked = query.get('user_id') ?? undefined;
      if (bound !== undefined && asked !== undefined && asked !== bound) return { body: [] };
      const pending = await requests.pending({
        sessionId: query.get('session_id') ?? undefined,
        userId: bound ?? asked,
        channel: query.get('channel')?.toLowerCase(),
      });
      const page = { limit: query.get('limit'), cursor: query.get('cursor') };
      return {
        body: listPage(pending, ({ requestId }) => requestId, page, ctx).map(
          ({ requestId, sessionId, userId, channel, questions, createdAt, expiresAt }) => ({
            request_id: requestId,
            session_id: sessionId,
            user_id: userId,
            channel,
            questions,
            created_at: wholeSeconds(createdAt),
            expires_at: wholeSeconds(expiresAt),
          }),
        ),
      };
    },
  };
}

/** Blank answers count as none. */
function readAnswers(value: unknown): Answers {
  if (!isJsonObject(value)) throw planError('invalid_request', 'answers must be an object');
  const entries = Object.entries(value).map(([id, entry]) => {
    const given = isJsonObject(entry) ? entry.answers : entry;
    if (!Array.isArray(given) || !given.every((text) => typeof text === 'string' && text.length <= maxAnswerLength)) {
      throw planError('invalid_request', 'answers must hold {"answers": [text, …]} for each question');
    }
    return [id, { answers: given.filter((text: string) => text.trim() !== '') }] as const;
  });
  return Object.fromEntries(entries);
}

/** An absent or empty text does not restrict anything. */
function textOf(body: JsonObject, member: string): string | undefined {
  const value = body[member];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw planError('invalid_json');
  return value;
}

function wholeSeconds(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}
