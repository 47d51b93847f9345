// Loaded by `node --import`: the clock of the process is CLOCK_OFFSET_MS ahead.
const offset = Number(process.env.CLOCK_OFFSET_MS);
const RealDate = Date;
const now = () => RealDate.now() + offset;

globalThis.Date = class extends RealDate {
  constructor(...parameters) {
    if (parameters.length === 0) super(now());
    else super(...parameters);
  }

  static now() {
    return now();
  }
};
