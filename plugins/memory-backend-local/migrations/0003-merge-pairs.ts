import type { Migration } from 'mortise/sdk';

/**
 * Two segments of a size are enough for the merges that are asked for while nothing is stored. Stores go on merging by
 * eight.
 */
export const mergePairs: Migration = {
  name: '0003-merge-pairs',
  async up(schema) {
    if (schema.dialect !== 'sqlite') return;
    await schema.raw(`insert into {logbook.memory_fts} ({logbook.memory_fts}, rank) values ('usermerge', 2)`);
  },
};
