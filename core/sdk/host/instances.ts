export interface Instance {
  readonly id: string;
  /** Host name. */
  readonly host: string;
  readonly pid: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly alive: boolean;
}

/** Processes that share the database. They renew a heartbeat every 5 s and count as dead after 15 s without one. */
export interface InstancesService {
  /** Id of this process; new at each start. */
  readonly id: string;
  isAlive(id: string): Promise<boolean>;
  /** Oldest start first. Dead processes are listed until a day after their last heartbeat; cleanly stopped ones are not. */
  list(): Promise<readonly Instance[]>;
}
