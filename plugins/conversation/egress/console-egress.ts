import type { Egress } from 'mortise/contracts/conversation';

/** The way out for replies that nobody listens to: a line in the log, without a word of the text. */
export const consoleEgress: Egress = {
  default: true,
  async send(observation, ctx) {
    const { text } = observation.payload;
    ctx.log.info(
      {
        session_key: observation.session_key,
        obs_id: observation.obs_id,
        trace_id: observation.trace_id,
        length: typeof text === 'string' ? text.length : 0,
      },
      'a reply without a listener',
    );
  },
};
