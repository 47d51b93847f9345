// Nest on platform-express as it comes, with the statement of `bare-server.mjs` and nothing else.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const text = process.env.SQL;
const values = JSON.parse(process.env.PARAMETERS ?? '[]');

class StockController {
  async one() {
    const { rows } = await pool.query({ name: 'one', text, values });
    return rows[0];
  }

  ready() {
    return 'ready';
  }
}
Get('one')(StockController.prototype, 'one', Object.getOwnPropertyDescriptor(StockController.prototype, 'one'));
Get('ready')(StockController.prototype, 'ready', Object.getOwnPropertyDescriptor(StockController.prototype, 'ready'));
Controller()(StockController);

class StockModule {}
Module({ controllers: [StockController] })(StockModule);

const app = await NestFactory.create(StockModule, { logger: false });
await app.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
