#!/usr/bin/env python3
"""Does a converter read session files of coding agents as they happened?

    sessions.py --bin PROGRAM [--from session|otlp|both] [--min F] CASE_DIR...

For each case runs `PROGRAM convert --to atif --losses /dev/null INPUT...` (INPUT: the folder `session/` below the case, its OTLP bodies
`0*.bin`, or both), and compares all ATIF documents with the case's meta.json: texts, reasoning, tool calls with arguments, results, questions,
sums of tokens, number of model calls. Prints a line a client, the misses of each case, and `score R=.. of N facts` last. Standard library only.
"""
import argparse,collections,glob,json,os,re,subprocess,sys
def new(): return dict(calls=[],results={},users=[],final=None,agents={},notes=[])
def tx(c):
    if c is None: return ''
    if isinstance(c,str): return c
    if isinstance(c,dict): c=[c]
    return '\n'.join(p if isinstance(p,str) else p.get('text') if isinstance(p.get('text'),str) else '['+str(p.get('type') or list(p)[:1])+']' for p in c)
nrm=lambda s: re.sub(r'\s+|\\n|\\t|["\\]','',s if isinstance(s,str) else json.dumps(s,ensure_ascii=False))
def atif(doc):
    F=new(); stack=[doc]
    def add(d,sub):
        for s in d.get('steps',[]):
            msg=s.get('message'); msg=msg if isinstance(msg,str) else tx([p if isinstance(p,str) else p for p in msg or []])
            if s['source']=='agent':
                m=s.get('metrics') or {}
                F['calls'].append(dict(text=[msg] if msg else [],reasoning=[s['reasoning_content']] if s.get('reasoning_content') else [],tools=[(t['tool_call_id'],t['function_name'],t['arguments']) for t in s.get('tool_calls') or []],usage=dict(input=m.get('prompt_tokens'),output=m.get('completion_tokens'),cached=m.get('cached_tokens')) if m else None,agent='sub' if sub else 'main'))
            elif s['source']=='user' and not sub: F['users'].append(msg)
            for r in (s.get('observation') or {}).get('results',[]):
                c=r.get('content'); k=r.get('source_call_id')
                if k: F['results'][k]=((F['results'].get(k,('',0))[0]+(c if isinstance(c,str) else tx(c or []))),None)
        for x in d.get('subagent_trajectories') or []: add(x,True)
    add(doc,False); return F
def merge(Fs):
    F=new()
    for f in Fs:
        for k in('calls','users'): F[k]+=f[k]
        F['results'].update(f['results'])
    return F
def score(m,F):
    T=[c for c in m['llm_calls'] if c['agent']!='auxiliary' and c.get('response') and not c.get('cut')]
    interrupted='interrupted' in m['case'] or m['case'].startswith('claudecode-tui') or 'killed' in m['case']
    if interrupted: T=[c for c in T if len(c['response']['text'] or '')<600]
    r={}
    texts=[nrm(x) for c in F['calls'] for x in ['\n'.join(c['text'])]+c['text']]
    want=[nrm(c['response']['text']) for c in T if c['response']['text']]
    r['text']=(sum(any(w==t or w in t for t in texts) for w in want),len(want))
    rs=nrm(' '.join(x for c in F['calls'] for x in c['reasoning'])); want=[nrm(c['response']['reasoning'].replace('**','').split('\n')[-1]) for c in T if c['response']['reasoning']]
    r['reasoning']=(sum(w in rs for w in want),len(want))
    tl=[(n,nrm(a)) for c in F['calls'] for _,n,a in c['tools']]; ids={i for c in F['calls'] for i,_,_ in c['tools']}
    want=[t for c in T for t in c['response']['tool_calls']]
    have=collections.Counter(a for n,a in tl)
    ok=0
    for t in want:
        k=nrm(t['arguments']); k2=nrm({'input':t['arguments']})
        if have[k]>0: have[k]-=1; ok+=1
        elif have[k2]>0: have[k2]-=1; ok+=1
        elif any(k in h for h in have): ok+=1
    r['calls']=(ok,len(want)); r['toolcalls_extra']=len(tl)-len(want)
    want=[t for t in m['tool_executions'] if t.get('result') is not None and t['agent']!='auxiliary']
    allr=[nrm(v[0]) for v in F['results'].values()]
    def rtext(t):
        x=t['result']
        if isinstance(x,dict) and 'chars' in x: return x['head']
        if isinstance(x,dict): return x.get('output') or x.get('error') or json.dumps(x)
        return x
    r['results']=(sum((nrm(rtext(t)) in (nrm(F['results'][t['call_id']][0]) if t['call_id'] in F['results'] else '')) or (t['call_id'] not in F['results'] and any(nrm(rtext(t)) in a for a in allr)) for t in want),len(want))
    for k in('input','output','cached'):
        r['sum_'+k]=(sum((c.get('usage') or {}).get(k) or 0 for c in F['calls']),sum(c['usage'][k] for c in T))
    r['ncalls']=(len(F['calls']),len(T))
    us=[nrm(u) for u in F['users']]; want=[nrm(q.split(' @')[0]) for q in m['questions'] if not q.startswith('/')]
    r['questions']=(sum(any(w in u for u in us) for w in want),len(want)); r['users_extra']=len(us)-len(m['questions'])
    return r

def read(program, case, source):
    inputs=[]
    if source in("session","both"): inputs.append(os.path.join(case,"session"))
    if source in("otlp","both"): inputs+=sorted(glob.glob(os.path.join(case,"0*.bin")))
    if not inputs: return None
    p=subprocess.run([program,"convert","--to","atif","--losses","/dev/null",*inputs],capture_output=True,text=True,timeout=120)
    documents=[json.loads(l) for l in p.stdout.splitlines() if l.startswith("{")]
    return merge([atif(d) for d in documents]) if documents else "no document: "+(p.stderr.strip().splitlines() or ["no message"])[-1][:160]

def main():
    a=argparse.ArgumentParser(); a.add_argument("--bin",required=True); a.add_argument("--from",dest="source",default="session",choices=["session","otlp","both"])
    a.add_argument("--min",type=float,default=0); a.add_argument("cases",nargs="+"); o=a.parse_args()
    table=collections.defaultdict(lambda: collections.defaultdict(lambda:[0,0])); facts=[0,0]
    for case in sorted(c.rstrip("/") for c in o.cases if os.path.exists(os.path.join(c,"meta.json"))):
        m=json.load(open(os.path.join(case,"meta.json"))); name=os.path.basename(case); client=name.split("-")[0]
        f=read(o.bin,case,o.source)
        if f is None: continue
        if isinstance(f,str): print(name+": "+f)
        r=score(m,new() if isinstance(f,str) else f); misses=[]
        for k,v in r.items():
            if k.endswith("_extra"): table[client][k][0]+=v; continue
            table[client][k][0]+=v[0]; table[client][k][1]+=v[1]
            if k.startswith("sum_") or k=="ncalls":
                facts[1]+=1; facts[0]+=v[0]==v[1]
            else: facts[0]+=v[0]; facts[1]+=v[1]
            if v[0]!=v[1]: misses.append("%s %s/%s"%(k,*v))
        if misses and not isinstance(f,str): print(name+": "+", ".join(misses))
    for c in sorted(table): print(c.ljust(12)," ".join("%s:%s"%(k,v[0] if k.endswith("_extra") else "%s/%s"%tuple(v)) for k,v in table[c].items()))
    r=facts[0]/facts[1] if facts[1] else 0
    print("score R=%.3f of %d facts"%(r,facts[1])); sys.exit(0 if r>=o.min and facts[1] else 1)

if __name__=="__main__": main()
