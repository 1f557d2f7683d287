// An agent on the Vercel AI SDK. `telemetry.mjs`, loaded with --import, sets up the exporter.
import { openai } from '@ai-sdk/openai';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';

const get_weather = tool({
  description: 'Get the weather for a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city}: 18C sunny`,
});

const { text } = await generateText({
  model: openai.chat('gpt-4o-mini'),
  prompt: 'What is the weather in Paris and Tokyo?',
  tools: { get_weather },
  stopWhen: stepCountIs(5),
  experimental_telemetry: { isEnabled: true, functionId: 'travel_agent' },
});
console.log(text);
