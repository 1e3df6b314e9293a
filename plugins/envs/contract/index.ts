/** The service `envs`: variables that users store for tools. */
export interface EnvsService {
  /** All variables, in clear. */
  all(): Promise<Readonly<Record<string, string>>>;
}

declare module 'mortise/sdk' {
  interface Services {
    envs: EnvsService;
  }
}
