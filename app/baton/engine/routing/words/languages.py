"""The words of a developer's trade in seven languages, put into English before a prompt is scored.

Agents are described in English, and the table of word vectors knows little else, so a German or Japanese prompt would meet
nobody. This is a glossary, no translation: words that it lacks stay as they are (most names of techniques are English
anyway), and words of no meaning are dropped. Latin words are written here without accents and as they begin: the rest is
inflection, or another word of a German compound.
"""

import re
import unicodedata
from functools import lru_cache

_GLOSSARY = """
review: uberpruf pruf begutacht durchsicht relis revis examin verifi revise revisar 审查 评审 检查 审核 レビュー 確認 見直 리뷰 검토 점검
security: sicherheit securite seguridad seguranca 安全 セキュリティ 보안
vulnerability: lucke schwachstelle vulnerab faille 漏洞 脆弱性 취약점
test: test prueb teste tester 测试 テスト 테스트
unit test: komponententest unitari unitaire 单元测试 単体テスト ユニットテスト 단위테스트
coverage: abdeckung couverture cobertura 覆盖率 カバレッジ 커버리지
write: schreib verfass ecris ecrire escrib escrev redig 写 编写 書い 書く 書き 작성
fix: beheb reparier korrigier korrektur corrig repar arregl consert 修复 修正 修理 直し 直す 고쳐 수정 해결
bug: bug fehler defekt erreur bogue anomalie errores defect erro falha 错误 缺陷 故障 バグ 不具合 エラー 오류 버그 에러
crash: sturzt absturz abgesturz plante plantage crash cuelga trava 崩溃 クラッシュ 落ちる 크래시 충돌
debug: debug entwanz debogu depur 调试 デバッグ 디버깅 디버그
why cause: warum ursache pourquoi porque causa cause raison 为什么 原因 なぜ 왜 원인
documentation: dokument docu documentac anleitung handbuch manuel manual 文档 ドキュメント 文書 문서
readme: liesmich
explain: erklar expliqu explic expliq 解释 説明 설명
architecture: architektur architecture arquitectura arquitetura 架构 アーキテクチャ 아키텍처
design: entwirf entwurf entwerf gestalt concevoir conception disen projetar 设计 設計 デザイン 설계 디자인
plan: plan planung planif plano planej 计划 规划 計画 계획
database: datenbank donnees datos dados 数据库 データベース 데이터베이스
query: abfrage requete consulta 查询 クエリ 쿼리
index: index indice 索引 インデックス 인덱스
table schema: tabelle schema tabla tabela esquema 表结构 テーブル スキーマ 테이블 스키마
migration: migr 迁移 マイグレーション 移行 마이그레이션
performance: leistung performance rendimiento desempenho 性能 パフォーマンス 성능
slow: langsam lent lento lenta demora 慢 遅い 遅く 느리 느려
fast speed: schnell beschleunig rapide acceler rapid acelerar 加速 提速 高速 빠르
optimize: optimier optimis optimiz otimiz 优化 最適化 최적화
memory: speicher memoire memoria 内存 メモリ 메모리
refactor: umbau refaktor refactor refator restrukturier restructur reestructur 重构 リファクタ 리팩터 리팩토
simplify clean: vereinfach aufraum simplif limpi limp nettoy 简化 清理 簡潔 整理 단순화 정리
code: code quellcode codigo 代码 コード 코드
function: funktion fonction funcion funcao 函数 関数 함수
interface frontend: oberflache benutzeroberflache interfaz 界面 前端 画面 フロントエンド 화면 프론트엔드
component: komponente composant componente 组件 コンポーネント 컴포넌트
button: schaltflache knopf bouton boton botao 按钮 ボタン 버튼
page: seite page pagina 页面 ページ 페이지
layout responsive: layout disenoadapt responsiv 布局 レイアウト 레이아웃
api endpoint: schnittstelle endpunkt 接口 エンドポイント 엔드포인트
server backend: server serveur servidor 服务器 后端 サーバ バックエンド 서버 백엔드
deploy: deploy bereitstell ausroll deploi despleg implant 部署 デプロイ 배포
container: container conteneur contenedor conteiner 容器 コンテナ 컨테이너
pipeline ci: pipeline 流水线 パイプライン 파이프라인
cloud infrastructure: infrastruktur infrastructure infraestructura infraestrutura 基础设施 云 インフラ クラウド 인프라 클라우드
monitoring: uberwach surveill monitor supervis 监控 監視 모니터링
incident outage: ausfall storung panne incident caida incidente 宕机 事故 障害 장애
release version: freigabe veroffentlich publi lanz lanc 发布 版本 リリース 릴리스 릴리즈
payment: zahlung bezahl paiement pago pagamento 支付 付款 決済 支払 결제
login authentication: anmeld login connexion authentif sesion autentic 登录 认证 ログイン 認証 로그인 인증
password: passwort kennwort passe contrasena senha 密码 パスワード 비밀번호
encrypt: verschlussel chiffr cifr criptograf 加密 暗号 암호화
user: benutzer nutzer utilisat usuari 用户 ユーザ 사용자
accessibility: barrierefrei accessib accesib acessib 无障碍 アクセシビリティ 접근성
translate localization: ubersetz tradui traduc traduz lokalisier 翻译 本地化 翻訳 번역
research compare: recherch vergleich compar investig pesquis 调研 研究 比较 調査 比較 조사 비교
search find: such cherch trouv busc encontr procur 查找 搜索 探し 検索 찾아 검색
explore codebase: erkund explor 代码库 コードベース 코드베이스
analyze data: analys analiz datenanalyse 分析 数据 データ 분석 데이터
model machine learning: lernmodell apprentissage aprendizaje aprendizado 机器学习 训练 機械学習 학습
train: trainier entrain entren treinar 训练
mobile app: handy mobil appli aplicativo 移动应用 手机 モバイル アプリ 모바일 앱
commit git: commit einchecken 提交 コミット 커밋
merge branch: zusammenfuhr fusionn fusion mescl 合并 分支 マージ ブランチ 병합 브랜치
pull request: 拉取请求 プルリクエスト 풀리퀘스트
dependency package: abhangigkeit paket dependanc dependenc dependenci pacote 依赖 パッケージ 依存 의존성 패키지
build compile: kompilier compil construi 编译 构建 ビルド コンパイル 빌드 컴파일
requirement user story: anforderung exigence requisit 需求 要件 요구사항
product feature: produkt produit producto produto funcionalid 产品 功能 機能 製品 제품 기능
implement add: implementier hinzufug erganz ajout implement implant anad agreg adicion 实现 添加 増や 追加 実装 추가 구현
create: erstell erzeug cree creer crea crie criar 创建 作成 만들
remove delete: entfern losch supprim elimin borr remov exclu 删除 移除 削除 삭제 제거
error handling: fehlerbehandlung
log: protokoll journal registro 日志 ログ 로그
legal contract privacy: recht vertrag datenschutz juridiq contrat legal contrato privacidad privacidade 法律 合同 隐私 法務 契約 법률 계약
marketing text: werbetext marketing publicit 营销 文案 マーケティング 마케팅
cost: kosten cout costo custo 成本 费用 コスト 비용
customer: kunde client cliente 客户 顧客 고객
mail: courriel correo 邮件 メール 메일
"""
_SMALL = """
    der die das den dem des ein eine einen einer und oder ist sind war nicht mit fur von zu im auf aus bei nach wie was wer
    wir ich sie er mir uns bitte unser unsere unseren diese dieser dieses kann konnen soll mochte wenn dass weil noch auch
    le la les un une des du de et ou est sont ne pas avec pour dans sur par que qui nous vous je il elle mon ma mes notre nos
    ce cette ces peux peut plait quand si aussi
    el los las una unos y o es son no con para en por que nuestro nuestra nuestros mi mis este esta estos puedes puede cuando
    como se al del lo muy
    os as um uma uns e ou sao nao com para em por que nosso nossa meu minha este esta pode quando como se ao do da dos das no na
"""
_MARKS = """
    der das den dem ein eine einen einer und oder ist sind nicht mit fur von zu wie wir ich bitte unser unsere unseren unserer
    unserem meine meinen meinem meiner diese dieser dieses kann mochte wenn dass weil warum gibt auf im zum zur
    le la les une des du et est sont avec pour dans sur qui nous vous cette ces ce de peux pourquoi notre nos mon ma
    el los las unos es con por para nuestro nuestra nuestros estos esta este puedes cuando como hay necesitamos muy y dime
    os uma sao nao com em nosso nossa meu minha pode ao dos das porque seu sua
"""
"""Small words that English has not: two of them make a prompt a foreign one, or one beside a letter with an accent."""
_SMALL_WORDS, _MARKED = frozenset(_SMALL.split()), frozenset(_MARKS.split())
LONGEST = 1_500
"""Characters that are put into English; who writes more also writes English names."""
_SHORTEST_PREFIX = 3
_LONGEST_WORD = 40
_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WORD = re.compile(r"[^\W\d_]+")


def in_english(text: str) -> str:
    """Return a prompt with its words of the trade in English; the prompt as it is where it is English already."""
    head = text[:LONGEST]
    asian = not head.isascii() and _ASIAN.search(head) is not None
    if not asian and not _is_foreign(head):
        return text
    if asian:
        head = _ASIAN.sub(lambda match: f" {_asian(match[0])} ", head)
    return _WORD.sub(lambda match: _latin(match[0]), head) + text[LONGEST:]


def _is_foreign(text: str) -> bool:
    """Return whether a text in Latin letters holds words that tell it from English."""
    accents = not text.isascii()
    if not accents:
        return len(_MARKED.intersection(text.lower().split())) > 1
    return not _MARKED.isdisjoint(_WORD.findall(_without_accents(text).lower()))


def _without_accents(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def _asian(text: str) -> str:
    """Return the English of the glossary's words in a run of characters, in their order."""
    return " ".join(_tables()[1][found] for found in _tables()[2].findall(text))


@lru_cache(maxsize=20_000)
def _latin(word: str) -> str:
    """Return a word's English, or the word; "" for a word of no meaning. A compound's parts are looked up in turn."""
    plain = _without_accents(word).lower()
    if plain in _SMALL_WORDS:
        return ""
    if len(plain) > _LONGEST_WORD:
        return word
    found, rest, prefixes = [], plain, _tables()[0]
    while len(rest) >= _SHORTEST_PREFIX:
        size = next((size for size in range(len(rest), _SHORTEST_PREFIX - 1, -1) if rest[:size] in prefixes), 0)
        if not size:
            break
        found.append(prefixes[rest[:size]])
        rest = rest[size:].lstrip("sen")
    return " ".join(found) or word


@lru_cache(maxsize=1)
def _tables() -> tuple[dict[str, str], dict[str, str], re.Pattern[str]]:
    """Return the glossary by Latin prefixes and by Asian words, and an expression that finds the longest of the latter."""
    latin: dict[str, str] = {}
    asian: dict[str, str] = {}
    for line in _GLOSSARY.strip().splitlines():
        english, _, foreign = line.partition(": ")
        for word in foreign.split():
            (latin if word.isascii() else asian).setdefault(word, english)
    longest_first = sorted(asian, key=len, reverse=True)
    return latin, asian, re.compile("|".join(map(re.escape, longest_first)))
