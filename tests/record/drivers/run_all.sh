#!/usr/bin/env bash
# usage: run_all.sh VENVS OUT: VENVS/v-NAME/bin/python of each client, recordings below OUT
here=$(cd "$(dirname "$0")" && pwd)
venvs=$1 out=$2 only=${3:-.}
rec() { case=$1 venv=$2 client=$3 dialect=$4 scenario=$5; shift 5; [[ $case =~ $only ]] || return 0; python3 "$here/../record.py" "$case" "$out" "$client" "$dialect" "$scenario" -- "$venvs/v-$venv/bin/python" "$here/$@" > "$out/$case.log" 2>&1; tail -1 "$out/$case.log"; }
mkdir -p "$out"
rec honeyhive-hand honeyhive honeyhive==1.7.0,openai==3.54.0 honeyhive "tools, tool error" honeyhive_openai.py
rec honeyhive-oi-tools honeyhive honeyhive==1.7.0,openinference-instrumentation-openai==0.1.66 honeyhive "tools, tool error" honeyhive_openai.py oi
rec phoenix-decorators phoenix arize-phoenix-otel==0.17.2,openai==3.54.0 openinference "decorators, tool error" phoenix_decorators.py
rec respan-tools respan respan-ai==4.2.4,openai==3.54.0 respan "tools, tool error" respan_openai.py
rec respan-stream respan respan-ai==4.2.4,openai==3.54.0 respan "stream, tool error" respan_openai.py stream
rec braintrust-otel braintrust braintrust==0.47.0,openai==3.54.0 braintrust "tools, tool error" braintrust_otel.py
rec braintrust-native braintrust braintrust==0.47.0,openai==3.54.0 braintrust "wrap_openai" braintrust_native.py
rec deepeval-otel deepeval deepeval==4.3.1,openai==3.54.0 confident "tools, tool error" deepeval_openai.py
rec smolagents-oi smol smolagents==1.26.0 openinference "tools" smolagents_tl.py oi
rec smolagents-tl smol smolagents==1.26.0 openllmetry "tools" smolagents_tl.py
rec azureinf-tools azureinf azure-ai-inference==1.0.0 "otel-genai(azure)" "tools, tool error" azure_inference.py
rec groq-oi groq groq==1.0 openinference "tools, tool error" provider_sdk.py groq oi
rec groq-tl groq groq==1.0 openllmetry "tools, tool error" provider_sdk.py groq tl
rec mistral-oi groq mistralai==2.0 openinference "tools, tool error" provider_sdk.py mistralai oi
rec mistral-tl groq mistralai==2.0 openllmetry "tools, tool error" provider_sdk.py mistralai tl
rec dspy-oi dspy dspy==3.4.1 openinference "predict" dspy_oi.py
