import type { Migration } from 'mortise/sdk';

/** A chat's summary stands for its messages up to a number: the model gets it in their place. */
export const chatSummaries: Migration = {
  name: '0002-chat-summaries',
  async up(schema) {
    await schema.raw('alter table {realtime.chats} add column summary text');
    await schema.raw('alter table {realtime.chats} add column summary_seq integer');
  },
};
