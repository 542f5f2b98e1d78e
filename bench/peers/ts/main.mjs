// Plays conversations with the runner of the TypeScript SDK. It takes the flags of
// the Go peers, given to it as JSON with their values, and writes the same report.
import fs from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';

const job = JSON.parse(process.argv[2]);
const result = job.result;

function tools() {
  return job.body.tools.map((definition) => ({
    ...definition,
    parse: (input) => input,
    run: (input) => {
      if (definition.name === 'take') return `${input.lines.length} lines`;
      if (!input.path) throw new Error('the path is missing');
      return result;
    },
  }));
}

const { model, max_tokens, system } = job.body;
const runnable = tools();
const client = (path) => new Anthropic({ apiKey: 'key', baseURL: job.server + path, maxRetries: 0 });

async function play(client, report) {
  const runner = client.beta.messages.toolRunner({
    model, max_tokens, system, tools: runnable, thread: false, stream: job.stream !== '',
    messages: [{ role: 'user', content: [{ type: 'text', text: job.prompt }] }],
  });
  let last;
  for await (const reply of runner) {
    report.Turns++;
    if (job.stream === '') {
      last = reply;
      continue;
    }
    if (job.read) {
      for await (const event of reply) {
        if (event.type === 'content_block_delta' && (event.delta.text || event.delta.thinking || event.delta.partial_json)) report.Events++;
      }
    }
    last = await reply.finalMessage();
  }
  const { text } = last.content.at(-1);
  if (job.stream === 'text' ? text.length < 1 : text !== 'Done.') throw new Error(`the last reply is ${text}`);
}

const warm = client(job.warm);
for (let i = 0; i < 3; i++) await play(warm, { Turns: 0, Events: 0 });
const measured = client(job.path);
const report = { Conversations: 0, Turns: 0, Events: 0 };
const cpu = process.cpuUsage();
const begin = performance.now();
do {
  await play(measured, report);
  report.Conversations++;
} while (performance.now() - begin < job.for);
const used = process.cpuUsage(cpu);
report.CPU = (used.user + used.system) * 1000;
report.Wall = Math.round((performance.now() - begin) * 1e6);
const peak = /VmHWM:\s*(\d+)/.exec(fs.existsSync('/proc/self/status') ? fs.readFileSync('/proc/self/status', 'utf8') : '');
report.Peak = peak ? peak[1] * 1024 : 0;
console.log(JSON.stringify(report));
