import type { ObservationHandler } from 'mortise/contracts/conversation';
import type { Observation, ObservationType } from 'mortise/sdk';
import type { TestPlugin } from 'mortise/sdk/testing';

/** A manual clock with timers. */
export class ManualClock {
  now = 0;
  #timers: { readonly at: number; readonly run: () => void; live: boolean }[] = [];

  readonly after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.now + ms, run, live: true };
    this.#timers.push(timer);
    return () => {
      timer.live = false;
    };
  };

  advance(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const due = this.#timers.filter(({ live, at }) => live && at <= until).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      due.live = false;
      this.now = due.at;
      due.run();
    }
    this.now = until;
  }
}

/** A plugin that records delivered observations of some types. */
export function listener(
  seen: Observation[],
  types: readonly ObservationType[] = ['message', 'alert', 'control', 'schedule', 'system'],
  handle: ObservationHandler['handle'] = async () => 'handled',
): TestPlugin {
  return {
    manifest: { key: 'test-listener', contributes: { 'observation-handler': [{ key: 'test', facts: { types } }] } },
    definition: {
      key: 'test-listener',
      register(host) {
        host.contribute('observation-handler', 'test', {
          types,
          handle: (observation, ctx) => {
            seen.push(observation);
            return handle(observation, ctx);
          },
        });
      },
    },
  };
}
