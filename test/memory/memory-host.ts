import { type Answer, type Json, type MemoryHost, startMemoryHost } from 'mortise/contracts/memory-gateway/testing';
import type { TestEngine, TestHostOptions } from 'mortise/sdk/testing';

/** Every plugin that handles a memory. */
export const memoryPlugins = ['memory-gateway', 'memory-backend-local', 'evidence-store', 'mcp-server'];

export const results = ({ body }: Answer): readonly Json[] => body.results as readonly Json[];
export const contents = (answer: Answer): readonly unknown[] => results(answer).map(({ content }) => content);

/** The platform with all plugins that memories need, as shipped. */
export const startMemory = (engine: Pick<TestEngine, 'env'>, options: TestHostOptions = {}): Promise<MemoryHost> =>
  startMemoryHost(engine, { plugins: memoryPlugins, ...options });
