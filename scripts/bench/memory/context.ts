import { type Conversations, createConversations, type Question } from 'mortise/contracts/memory-gateway/testing';
import { percentile } from '../parts/closed-loop.js';
import type { Figure, Measure } from '../parts/measure.js';
import { type Peer, startPeer } from '../parts/peer.js';
import { createPoster, type JsonPoster } from '../parts/post-json.js';
import { startProduct } from '../parts/product.js';

const hits = 10;
const space = (conversation: number): string => `private:talk${conversation}`;

/** Texts of the best hits for a question, best first. */
type Search = (question: Question) => Promise<readonly string[]> | readonly string[];

/** Recall of messages that answer questions about long conversations, compared with rankings of single messages. */
export const measureContext: Measure = async ({ rounds, peers, say }) => {
  const conversations = createConversations();
  const product = await startProduct({ env: { MORTISE_UNKNOWN_ACTOR_POLICY: 'auto_create' } });
  const poster = createPoster(product.origin, 1);
  try {
    say(`storing ${conversations.messages.length} messages`);
    await store(poster, conversations);
    const latencies = { with: [] as number[], without: [] as number[] };
    const ask =
      (context: boolean): Search =>
      async (question) => {
        const from = performance.now();
        const found = await query(poster, question, context);
        latencies[context ? 'with' : 'without'].push(performance.now() - from);
        return found;
      };
    let [recall, alone] = [0, 0];
    for (let round = 0; round < rounds; round += 1) {
      say(`round ${round + 1} of ${rounds}`);
      for (const context of round % 2 === 0 ? [false, true] : [true, false]) {
        const found = await recallOf(conversations, ask(context));
        if (context) recall = found;
        else alone = found;
      }
    }
    const others: Figure[] = [{ name: '  without context', value: alone, unit: '' }];
    for (const [name, peer] of Object.entries(await openPeers(conversations, peers))) {
      const search: Search = async ({ query, conversation }) => {
        const ids = (await peer.ask({ query, conversation })) as readonly number[];
        return ids.slice(0, hits).map((id) => conversations.messages[id]?.text ?? '');
      };
      others.push({ name: `  ${name}`, value: await recallOf(conversations, search), unit: '' });
      peer.close();
    }
    const best = Math.max(...others.slice(1).map(({ value }) => value));
    const [slow, quick] = [latencies.with, latencies.without].map((all) => p95(all));
    return [
      { name: `recall@${hits} of evidence in conversations`, value: recall, unit: '' },
      ...others,
      { name: '  relative to the best ranking of single messages', value: recall / best, unit: 'x', target: '>= 1.12' },
      { name: '  p95 of a query', value: slow ?? Number.NaN, unit: 'ms' },
      {
        name: '  p95 relative to that without context',
        value: (slow ?? 0) / (quick ?? 1),
        unit: 'x',
        target: '<= 1.3',
      },
    ];
  } finally {
    poster.close();
    await product.dispose();
  }
};

function p95(latencies: readonly number[]): number {
  return percentile(
    [...latencies].sort((a, b) => a - b),
    0.95,
  );
}

/** The mean share of the evidence among the best hits. */
async function recallOf({ messages, questions }: Conversations, search: Search): Promise<number> {
  let sum = 0;
  for (const question of questions) {
    const found = new Set(await search(question));
    const known = question.evidence.filter((index) => found.has(messages[index]?.text ?? ''));
    sum += known.length / question.evidence.length;
  }
  return sum / questions.length;
}

async function store(poster: JsonPoster, { messages }: Conversations): Promise<void> {
  for (const { text, conversation } of messages) {
    const { status, text: answer } = await poster.post('/memory/store', {
      payload_md: text,
      target_space: space(conversation),
      actor_user_id: `talk${conversation}`,
      meta_json: { conversation_id: String(conversation) },
    });
    if (status !== 200 || !answer.includes('"memory_id":"')) throw new Error(`store answered ${status}: ${answer}`);
  }
}

async function query(poster: JsonPoster, question: Question, context: boolean): Promise<readonly string[]> {
  const { status, text } = await poster.post('/memory/query', {
    query: question.query,
    spaces: [space(question.conversation)],
    filters: { context },
    top_k: hits,
  });
  if (status !== 200) throw new Error(`query answered ${status}: ${text}`);
  const { results } = JSON.parse(text) as { readonly results: readonly { readonly content: string }[] };
  return results.map(({ content }) => content);
}

/** Rankings of single messages in separate processes: BM25 of SQLite, and the libraries in the folder. */
async function openPeers(
  { messages }: Conversations,
  folder: string | undefined,
): Promise<Readonly<Record<string, Peer>>> {
  const names = ['fts5', ...(folder === undefined ? [] : ['minisearch', 'lunr'])];
  const opened = names.map(async (name) => {
    const peer = await startPeer('message-search', [name, folder ?? '']);
    await peer.ask({ messages });
    return [name, peer] as const;
  });
  return Object.fromEntries(await Promise.all(opened));
}
