import { seededRandom } from 'mortise/sdk/testing';
import { createTexts } from './texts.js';

export interface Message {
  /** Unique. */
  readonly text: string;
  /** Number of its conversation. */
  readonly conversation: number;
}

/** A question about one conversation, and the indexes of the messages that answer it. */
export interface Question {
  readonly query: string;
  readonly conversation: number;
  readonly evidence: readonly number[];
}

export interface Conversations {
  /** In the order in which they were sent. */
  readonly messages: readonly Message[];
  readonly questions: readonly Question[];
}

const episodeLength = 9;
const topicWords = 10;

/**
 * Long conversations with questions. A topic lasts for several messages, but its words are not repeated in each: a
 * question often shares more words with the messages around the answer than with the answer.
 */
export function createConversations({ count = 10, length = 400, questions = 30, seed = 1 } = {}): Conversations {
  const random = seededRandom(seed);
  const texts = createTexts(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const some = <T>(from: readonly T[], wanted: number): readonly T[] =>
    Array.from({ length: wanted }, () => pick(from));
  /** Rare words, which characterise a topic. */
  const memorable = (wanted: number): readonly string[] =>
    Array.from({ length: wanted }, () => texts.word(40 + Math.floor(random() * 3_000)));

  const messages: Message[] = [];
  const asked: Question[] = [];
  for (let conversation = 0; conversation < count; conversation += 1) {
    const first = messages.length;
    const own: (readonly string[])[] = [];
    let topic: readonly string[] = [];
    for (let at = 0; at < length; at += 1) {
      if (at % episodeLength === 0) topic = memorable(topicWords);
      const words = [...some(topic, Math.floor(random() * 4)), ...memorable(2)];
      own.push(words);
      messages.push({ text: `${texts.english(60 + random() * 80)} ${words.join(' ')}`, conversation });
    }
    for (let index = 0; index < questions; index += 1) {
      const at = Math.floor(random() * length);
      const near = own.slice(Math.max(0, at - 2), at + 3).flat();
      const query = [
        ...some(own[at] ?? [], random() < 0.6 ? 1 : 0),
        ...some(near, 3),
        ...texts.english(30).split(' ').slice(2),
      ];
      asked.push({ query: query.join(' '), conversation, evidence: [first + at] });
    }
  }
  return { messages, questions: asked };
}
