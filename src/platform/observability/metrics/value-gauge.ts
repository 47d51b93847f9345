import { Gauge } from 'prom-client';

/** A gauge of a value that is read for each scrape. Null leaves the metric out: no figure is better than an old one. */
export function valueGauge(name: string, help: string, read: () => number | null | Promise<number | null>): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    async collect() {
      const value = await read();
      if (value === null) this.remove();
      else this.set(value);
    },
  });
}
