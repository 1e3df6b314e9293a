export interface Instance {
  readonly id: string;
  /** Host name. */
  readonly host: string;
  readonly pid: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly alive: boolean;
}

/** Processes that share the database. Heartbeat every 5 s; dead after 15 s; gone at once after a clean stop. */
export interface InstancesService {
  /** Of this process; new at each start. */
  readonly id: string;
  isAlive(id: string): Promise<boolean>;
  /** Oldest start first; dead ones are listed until their row is removed, a day after their last heartbeat. */
  list(): Promise<readonly Instance[]>;
}
