#!/usr/bin/env python3
"""Does a converter read session files of coding agents as they happened?

    sessions.py --bin PROGRAM [--from session|otlp|both|logs] [--min F] CASE_DIR...

For each case runs `PROGRAM convert --to atif --losses /dev/null INPUT...` (INPUT: the folder `session/` below the case, its OTLP bodies
`0*.bin`, both, or its log records alone), and compares all ATIF documents with the case's meta.json: texts, reasoning, tool calls with arguments, results with their
error flags, agents with the calls that started them and their answers, questions, the final answer, sums of tokens, number of model calls.
Prints the misses of each case (`told/asked+beyond the truth`), a line a client, and recall and precision last. Exit status 1 where one of
them is below `--min`. Only what the files hold (`observable_in_*`) is asked. A call that broke off may be told or not. Standard library only.
"""
import argparse,collections,glob,json,os,re,subprocess,sys
nrm=lambda s: re.sub(r'\s+|\\n|\\t|["\\]','',s if isinstance(s,str) else json.dumps(s,ensure_ascii=False))
def tx(c):
    if c is None: return ''
    if isinstance(c,str): return c
    if isinstance(c,dict): c=[c]
    return '\n'.join(p if isinstance(p,str) else p.get('text') if isinstance(p.get('text'),str) else '['+str(p.get('type') or list(p)[:1])+']' for p in c)

def told(documents):
    """What the documents tell: model calls, results by call id, prompts, agents."""
    F=dict(calls=[],results={},users=[],agents=[],finals=[])
    def add(doc,parent):
        said=''
        refs={}; first=None
        for s in doc.get('steps',[]):
            text=tx(s.get('message'))
            if s['source']=='agent' and s.get('llm_call_count')!=0:
                said=text or said
                F['calls'].append(dict(text=text,reasoning=s.get('reasoning_content') or '',usage=s.get('metrics'),main=parent is None,
                    tools=[(t['tool_call_id'],t['function_name'],t['arguments']) for t in s.get('tool_calls') or []]))
            elif s['source']=='agent':
                F['calls'].append(dict(text='',reasoning='',usage=None,main=parent is None,beside=True,tools=[(t['tool_call_id'],t['function_name'],t['arguments']) for t in s.get('tool_calls') or []]))
            elif s['source']=='user':
                first=first or text
                if parent is None: F['users'].append(text)
            for r in (s.get('observation') or {}).get('results',[]):
                k=r.get('source_call_id')
                if k: F['results'].setdefault(k,[]).append((tx(r.get('content')),bool((r.get('extra') or {}).get('is_error'))))
                for x in r.get('subagent_trajectory_ref') or []: refs[x.get('trajectory_id')]=k
        if parent is not None: F['agents'].append(dict(prompt=first or '',answer=said,parent=parent))
        else: F['finals'].append(said)
        for x in doc.get('subagent_trajectories') or []: add(x,refs.get(x.get('trajectory_id'),''))
    for d in documents: add(d,None)
    return F

def covers(have,want):
    """Whether arguments have all that the model asked for: clients add defaults."""
    if isinstance(want,dict) and isinstance(have,dict): return all(k in have and covers(have[k],v) for k,v in want.items())
    return nrm(have)==nrm(want) or isinstance(have,dict) and nrm(have.get('input',''))==nrm(want)

def score(m,F,source):
    """Facts by kind: [told, asked, told beyond the truth]. Only what the files hold is asked."""
    seen=[m['observable_in_'+k] for k in (('session','otlp') if source=='both' else ('otlp',) if source=='logs' else (source,)) if m.get('observable_in_'+k)]
    holds=lambda get: any(get(o) for o in seen)
    of_call={c['n']:[next((x for x in o['llm_calls'] if x['n']==c['n']),{}) for o in seen] for c in m['llm_calls']}
    broken=lambda c: c.get('cut') or c.get('response') and len(c['response']['text'] or '')>600
    calls=[c for c in m['llm_calls'] if c['agent']!='auxiliary' and c.get('response') and not broken(c)]
    r=collections.defaultdict(lambda:[0,0,0])
    def fact(kind,ok): r[kind][1]+=1; r[kind][0]+=bool(ok)
    texts=[nrm(c['text']) for c in F['calls']]; thoughts=nrm(' '.join(c['reasoning'] for c in F['calls']))
    for c in calls:
        o=of_call[c['n']]; a=c['response']
        if a['text'] and any(x.get('text') for x in o): fact('text',any(nrm(a['text']) in t for t in texts))
        if a['reasoning'] and any(x.get('reasoning') for x in o): fact('reasoning',nrm(a['reasoning'].replace('**','').split('\n')[-1]) in thoughts)
    for w in {nrm(c['response']['text']) for c in calls if c['response']['text']}:
        r['text'][2]+=max(0,texts.count(w)-sum(nrm(c['response']['text'] or '')==w for c in m['llm_calls'] if c.get('response')))
    # Calls of tools, each once. Ids differ where a client makes its own.
    rest=[t for c in F['calls'] for t in c['tools']]
    for c in calls:
        for i,t in enumerate(c['response']['tool_calls']):
            if not any((x.get('tool_args') or [False])[i:i+1]==[True] for x in of_call[c['n']]): continue
            found=next((x for x in rest if x[0]==t['id'] and covers(x[2],t['arguments'])),None) or next((x for x in rest if x[1]==t['name'] and covers(x[2],t['arguments'])),None) or next((x for x in rest if covers(x[2],t['arguments'])),None)
            if found: rest.remove(found)
            fact('tool calls',found)
    asked_by_cut=sum(len(c['response']['tool_calls']) for c in m['llm_calls'] if c.get('response') and (broken(c) or c['agent']=='auxiliary'))
    r['tool calls'][2]+=max(0,len(rest)-asked_by_cut-sum(len(c['response']['tool_calls']) for c in calls)+r['tool calls'][1])
    flags={nrm(x[0]) for v in F['results'].values() for x in v}
    for i,t in enumerate(m['tool_executions']):
        if t.get('result') is None or t['agent']=='auxiliary' or not holds(lambda o: (o.get('tool_results') or [True]*99)[i:i+1]==[True]): continue
        x=t['result']
        if isinstance(x,dict): x=x.get('head') or x.get('output') or x.get('error') or json.dumps(x)
        have=F['results'].get(t['call_id'])
        fact('results',any(nrm(x) in nrm(h[0]) for h in have) if have else any(nrm(x) in f for f in flags))
        if have: r['results'][2]+=len(have)-1
        if have and t.get('error') is not None:
            # What the wire calls no error may be one to the client: a command's exit code, a refusal.
            if t['error']: fact('errors',any(h[1] for h in have))
            elif re.search(r'(?i)error|exit|fail|not exist|denied|reject|refus|unable|interrupt|declin',x) is None: fact('errors',not any(h[1] for h in have))
    # Agents: what each was asked, by which call, and what it answered.
    left=list(F['agents'])
    for a in m['agents']:
        if a.get('name')=='main': continue
        found=next((x for x in left if nrm(a['prompt']) in nrm(x['prompt'])),None); fact('agents',found)
        if not found: continue
        left.remove(found)
        if a.get('started_by_call_id'): fact('parents',found['parent'].endswith(a['started_by_call_id']))  # Some clients put a prefix before the id that they sent.
        if a.get('answer'): fact('answers',nrm(a['answer']) in nrm(found['answer']))
    r['agents'][2]+=len(left)
    usage=lambda c,k: (c['usage'] or {}).get(k) or 0
    optional=[c for c in m['llm_calls'] if c.get('response') and broken(c)]
    for k,key in (('input','prompt_tokens'),('output','completion_tokens'),('cached','cached_tokens')):
        if not all(any(x.get(k) is not False for x in of_call[c['n']]) for c in calls): continue
        have=sum(usage(c,key) for c in F['calls']); want=sum(c['usage'][k] for c in calls)
        # A call that broke off counts where its tokens are known, of its output as much as came.
        more=sum(c['usage'][k] for c in optional)
        fact('tokens',have==want or (want<=have<=want+more if k=='output' else have in {want+sum(x['usage'][k] for x in optional[:n]) for n in range(len(optional)+1)}))
    have=sum(not c.get('beside') for c in F['calls']); failed=sum(c['status']!=200 for c in m['llm_calls'])
    fact('model calls',have>=len(calls)); r['model calls'][2]+=max(0,have-len(calls)-len(optional)-failed)
    users=[nrm(u) for u in F['users']]; want=[nrm(q.split(' @')[0]) for q in m['questions']]
    for q in want:
        found=next((u for u in users if q in u or q.startswith('/') and nrm('<command-') in u and q.split('/')[1][:8] in u),None)
        if not q.startswith('/'): fact('questions',found)
        if found: users.remove(found)
    # Turns that a finished background agent began, summaries in place of what was said, and questions that the next turn repeats are lawful.
    lawful=['task-notification',*want,*(nrm(c['response']['text']) for c in m['llm_calls'] if c['agent']=='auxiliary' and c.get('response'))]
    r['questions'][2]+=sum(not any(l in u for l in lawful) for u in users)
    if m.get('final_answer') and holds(lambda o:o.get('final_answer')): fact('final',any(nrm(m['final_answer']) in nrm(t) for t in F['finals']))
    return r

def read(program, case, source):
    inputs=[]
    if source in("session","both"): inputs.append(os.path.join(case,"session"))
    if source=="logs": inputs+=sorted(glob.glob(os.path.join(case,"0*.logs.bin")))
    if source in("otlp","both"): inputs+=sorted(glob.glob(os.path.join(case,"0*.bin")))
    p=subprocess.run([program,"convert","--to","atif","--losses","/dev/null",*inputs],capture_output=True,text=True,timeout=120)
    documents=[json.loads(l) for l in p.stdout.splitlines() if l.startswith("{")]
    return documents, "" if documents else (p.stderr.strip().splitlines() or ["no message"])[-1][:160]

def main():
    a=argparse.ArgumentParser(); a.add_argument("--bin",required=True); a.add_argument("--from",dest="source",default="session",choices=["session","otlp","both","logs"])
    a.add_argument("--min",type=float,default=0); a.add_argument("cases",nargs="+"); o=a.parse_args()
    table=collections.defaultdict(lambda: collections.defaultdict(lambda:[0,0,0])); total=[0,0,0]
    for case in sorted(c.rstrip("/") for c in o.cases if os.path.exists(os.path.join(c,"meta.json"))):
        m=json.load(open(os.path.join(case,"meta.json"))); name=os.path.basename(case)
        documents,problem=read(o.bin,case,o.source); misses=[]
        if problem: print(name+": no document: "+problem)
        for kind,v in score(m,told(documents),o.source).items():
            for i in range(3): table[name.split("-")[0]][kind][i]+=v[i]; total[i]+=v[i]
            if v[0]!=v[1] or v[2]: misses.append("%s %d/%d%s"%(kind,v[0],v[1],"+%d"%v[2] if v[2] else ""))
        if misses and documents: print(name+": "+", ".join(misses))
    for c in sorted(table): print(c.ljust(12)," ".join("%s:%d/%d%s"%(k,v[0],v[1],"+%d"%v[2] if v[2] else "") for k,v in table[c].items()))
    recall=total[0]/total[1] if total[1] else 0; precision=total[0]/(total[0]+total[2]) if total[0] else 0
    print("score R=%.4f P=%.4f of %d facts"%(recall,precision,total[1])); sys.exit(0 if min(recall,precision)>=o.min and total[1] else 1)

if __name__=="__main__": main()
