"""Rows of chat messages in Hugging Face datasets, as TRL's SFTTrainer takes them. usage: load_datasets.py DIRECTORY

spanbridge convert --to messages --jsonl --output set FILE...
"""
import sys
from datasets import load_dataset

rows = load_dataset(sys.argv[1], split="train")
for row in rows:
    print(len(row["messages"]), "messages, the last one by", row["messages"][-1]["role"])
# trl: SFTTrainer(model, train_dataset=rows).train()
