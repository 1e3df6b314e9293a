import { createHash } from 'node:crypto';
import type { ChannelMessage, PluginDefinition } from 'mortise/sdk';

/** The channel of users on this machine: one log line per reply. */
export default function channelConsole(): PluginDefinition {
  return {
    key: 'channel-console',
    register(host) {
      host.contribute('channel', 'console', {
        ...host.facts('channel', 'console'),
        async sendText(message) {
          const fields = { session_hash: sessionHash(message), length: [...message.text].length };
          host.log.info(fields, 'a reply was sent to the console');
        },
      });
    },
  };
}

/** Distinguishes sessions in logs without naming them. */
function sessionHash({ userId, sessionId }: ChannelMessage): string {
  return createHash('sha256').update(`console\n${userId}\n${sessionId}`).digest('hex').slice(0, 12);
}
