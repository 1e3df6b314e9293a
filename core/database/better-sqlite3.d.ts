/** What is used of the driver; it publishes no types. */
declare module 'better-sqlite3' {
  export default class Database {
    constructor(
      file: string,
      options?: { readonly readonly?: boolean; readonly fileMustExist?: boolean; readonly timeout?: number },
    );
    prepare(sql: string): { all(): object[] };
    pragma(text: string): unknown;
    exec(sql: string): unknown;
    close(): void;
  }
}
