import { createTestHost } from 'mortise/sdk/testing';
import { createOperations } from '../threads/operations.js';

/** Prints the hits of a query in an index with their scores, as JSON. */
const [index = '', query = ''] = process.argv.slice(2);
const host = await createTestHost({ plugins: ['text-analysis'], listen: false });
const operations = createOperations(index, host.service('text-analysis'));
await host.stop();
const recency = { enabled: false, min: 1, max: 1.5, half_life_days: 90 };
const { hits } = operations.plainSearch(query, 10, ['default'], { docTypes: [], recency, perSource: 3 } as never);
operations.close();
process.stdout.write(JSON.stringify(hits));
process.exit(0);
