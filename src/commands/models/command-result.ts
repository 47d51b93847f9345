/** What a command of `npm run models` prints. */
export interface CommandResult {
  /** For `--json`. */
  value: object;
  /** For people: an object becomes lines and tables. */
  text: string | object;
  /** 1 when something that was checked is wrong. */
  exitCode?: number;
}
