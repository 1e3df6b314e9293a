import { localPrincipal, type TestPlugin } from '../../../core/sdk/testing/index.js';
import { cpuSeconds, type Measured, openBenchHost, rounded, yieldToEventLoop } from './bench-host.js';

const limits = { share: 0.05 };
const replies = 10_000;
const rounds = 9;

const blocked: TestPlugin = {
  manifest: { key: 'blocked', contributes: { egress: [{ key: 'blocked', facts: { timeoutMs: 30_000 } }] } },
  definition: {
    key: 'blocked',
    register: (host) =>
      void host.contribute('egress', 'blocked', {
        timeoutMs: 30_000,
        send: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      }),
  },
};

/** CPU time of 10,000 replies with an egress adapter that never answers, compared with 10,000 without an adapter. */
export async function slowEgress(): Promise<Measured> {
  const host = await openBenchHost(async () => undefined, { extra: [blocked] });
  const conversation = host.service('conversation');
  const reply = (session: string, index: number) =>
    conversation.publish(
      {
        source_name: 'agent:speaker',
        source_kind: 'internal',
        session_key: session,
        actor: { actor_type: 'system', actor_id: 'agent' },
        payload: { text: `reply ${index}` },
        // A caller has waited for the reply, so only adapters bound to the session get it.
        metadata: { direction: 'outbound', answered_by: 'console' },
      },
      { principal: localPrincipal },
    );
  const pass = async (bound: boolean): Promise<number> => {
    const sessions = Array.from({ length: 100 }, (_, index) => `console:${bound ? 'b' : 'f'}${index}:s`);
    if (bound) for (const session of sessions) conversation.bindSession(session, 'blocked');
    const from = process.cpuUsage();
    for (let index = 0; index < replies; index += 1) {
      reply(sessions[index % sessions.length] ?? '', index);
      if (index % 100 === 99) await yieldToEventLoop();
    }
    while (conversation.stats().running > 0) await yieldToEventLoop();
    const taken = cpuSeconds(from);
    if (bound) for (const session of sessions) conversation.unbindSession(session, 'blocked');
    return taken;
  };
  for (const bound of [true, false]) await pass(bound);
  const shares: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // Alternating, so that noise affects both.
    const [first, second] = round % 2 === 0 ? [false, true] : [true, false];
    const [a, b] = [await pass(first), await pass(second)];
    shares.push(first ? a / b : b / a);
  }
  await host.stop();
  const share = (shares.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? 1) - 1;
  return { moreCpu: rounded(share, 3), rounds, limits, ok: share <= limits.share };
}
