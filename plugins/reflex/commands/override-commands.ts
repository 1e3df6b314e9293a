import { type Command, type CommandFacts, type CommandResult, wrongUsage } from 'mortise/sdk';
import { clearOverride, type Ordered, setOverrides } from '../routes/overrides.js';
import type { RunningReflex } from '../start-reflex.js';

/** `mortise gate override set <key> <json>`. */
export function setOverrideCommand(facts: CommandFacts, running: RunningReflex): Command {
  return {
    ...facts,
    run: async ({ args: [key, json, ...more], options: { ttl, reason } }, ctx) => {
      if (key === undefined || json === undefined || more.length > 0) return wrongUsage(facts);
      const value = parsed(json);
      const seconds = ttl === undefined ? undefined : Number(ttl);
      if (value === undefined || Number.isNaN(seconds)) return wrongUsage(facts);
      const why = typeof reason === 'string' ? reason : 'set from the command line';
      return done(setOverrides(running, { overrides: { [key]: value }, ttl_sec: seconds, reason: why }, ctx));
    },
  };
}

/** `mortise gate override clear <key>`. */
export function clearOverrideCommand(facts: CommandFacts, running: RunningReflex): Command {
  return {
    ...facts,
    run: async ({ args: [key, ...more] }, ctx) => {
      if (key === undefined || more.length > 0) return wrongUsage(facts);
      return done(clearOverride(running, key, ctx));
    },
  };
}

function done(ordered: Ordered): CommandResult {
  return { exitCode: 0, data: ordered, text: `Asked for (observation ${ordered.obs_id}).` };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
