/** Processes that share the database. Heartbeat every 5 s; dead after 15 s. */
export interface InstancesService {
  /** Of this process; new at each start. */
  readonly id: string;
  isAlive(id: string): Promise<boolean>;
  list(): Promise<
    readonly {
      readonly id: string;
      readonly host: string;
      readonly pid: number;
      readonly startedAt: string;
      readonly alive: boolean;
    }[]
  >;
}
