import Database from 'better-sqlite3';
import { createKbHost, type KbHost } from 'mortise/contracts/kb/testing';

/** The environment of a gate: temporary folders and databases, never those of the user. */
export interface Lab {
  /** Boots the product over files of a temporary repo; stopped by the runner. */
  boot(
    files: Readonly<Record<string, string>>,
    config?: object,
    options?: Parameters<typeof createKbHost>[2],
  ): Promise<KbHost>;
  /** Runs SQL on the index of a host. */
  sql(kb: KbHost, text: string): readonly unknown[][];
  /** The point at which a mutation run injects its fault; does nothing otherwise. */
  disturb(kb: KbHost): Promise<void>;
  /** The plugin whose configuration is checked. */
  readonly configured: string;
}

export interface Gate {
  /** `A1` */
  readonly id: string;
  readonly title: string;
  /** @returns the evidence @throws GateFailure */
  check(lab: Lab): Promise<string>;
}

/** A gate that does not hold, and its remedy. */
export class GateFailure extends Error {
  readonly remedy: string;

  constructor(message: string, remedy = 'Fix the implementation and run the gate again.') {
    super(message);
    this.remedy = remedy;
  }
}

/** @throws GateFailure */
export function expectThat(holds: boolean, message: string, remedy?: string): asserts holds {
  if (!holds) throw new GateFailure(message, remedy);
}

export interface Fault {
  /** Damages data or changes plugins at the point that the gate offers. */
  disturb?(kb: KbHost, lab: Lab): Promise<void> | void;
  /** A replacement whose configuration is checked instead. */
  readonly configured?: string;
  readonly boot?: Parameters<typeof createKbHost>[2];
}

/** Runs one gate on its own temporary data. @throws GateFailure or any other error, both of which fail the gate */
export async function runGate(gate: Gate, fault: Fault = {}): Promise<string> {
  const hosts: KbHost[] = [];
  const lab: Lab = {
    boot: async (files, config = {}, options = {}) => {
      const kb = await createKbHost(files, config, { ...options, ...fault.boot });
      hosts.push(kb);
      return kb;
    },
    sql: (kb, text) => {
      const database = new Database(kb.indexFile, { fileMustExist: true, timeout: 5_000 });
      try {
        const statement = database.prepare(text);
        if (statement.reader) return statement.raw().all();
        statement.run();
        return [];
      } finally {
        database.close();
      }
    },
    disturb: async (kb) => {
      await fault.disturb?.(kb, lab);
    },
    configured: fault.configured ?? 'kb',
  };
  try {
    return await gate.check(lab);
  } finally {
    for (const kb of hosts) await kb.stop();
  }
}
