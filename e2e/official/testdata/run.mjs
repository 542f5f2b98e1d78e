// Runs the official tool runner of TypeScript at its defaults; the argument "streamed" streams.
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { z } from 'zod';

const getWeather = betaZodTool({
  name: 'get_weather',
  description: 'Weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  run: ({ city }) => {
    if (city !== 'Tromsø') throw new Error('no such city');
    return '9 degrees';
  },
});
const add = betaZodTool({
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
  run: ({ a, b }) => String(a + b),
});

const stream = process.argv[2] === 'streamed';
const client = new Anthropic({ apiKey: 'none', maxRetries: 0 }); // ANTHROPIC_BASE_URL is in the environment
const runner = client.beta.messages.toolRunner({
  model: 'claude-sonnet-5-5',
  max_tokens: 100,
  tools: [getWeather, add],
  messages: [{ role: 'user', content: 'How warm is it, and how much is that?' }],
  stream,
});
let message;
for await (const turn of runner) {
  message = stream ? await turn.finalMessage() : turn;
}
process.stdout.write(message.content.map((b) => (b.type === 'text' ? b.text : '')).join(''));
